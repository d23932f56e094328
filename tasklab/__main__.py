"""The program: `tasklab`, or `python -m tasklab`. It puts the module path in order before it imports anything else."""

from tasklab.module_path import keep_user_out


def main() -> None:
    """Run the command line; ends the process."""
    keep_user_out()
    from tasklab.command_line import run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
