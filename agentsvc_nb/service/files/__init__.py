"""Files of chats: uploads, versions, search."""
