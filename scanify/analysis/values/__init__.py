"""Classes of the project, and tables of what is known of libraries."""
