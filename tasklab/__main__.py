"""The program: `tasklab`, or `python -m tasklab`. It corrects the module path before it imports anything else."""

from tasklab.module_path import remove_current_directory


def main() -> None:
    """Run the command line; ends the process."""
    remove_current_directory()
    from tasklab.command_line import run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
