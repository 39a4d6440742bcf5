"""From files on disk to the catalog that is served, and again on every save."""
