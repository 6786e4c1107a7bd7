"""A workspace's files: reached by open folders, never by a path that could change meanwhile."""
