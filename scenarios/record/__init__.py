"""What a run leaves behind: events, histories, run directories; read and written here, judged elsewhere."""
