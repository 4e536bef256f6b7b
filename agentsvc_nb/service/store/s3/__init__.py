"""Contents in a bucket that speaks S3 (docs/decisions/0053-contents-in-s3.md): its objects, a local cache of those
that files are read of, and `ports.Blobs` made of both."""
