"""Pictures that ads are made with, of the workspace or an image model, read within limits; and PNG files written."""
