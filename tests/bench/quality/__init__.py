"""What the offline agent finds: questions with gold passages and gold numbers, asked of a real service."""
