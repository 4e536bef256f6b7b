"""Files of chats: uploads, versions and search."""
