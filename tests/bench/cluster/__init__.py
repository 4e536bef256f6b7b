"""What a run costs where several processes share a database: replicas, workers, PostgreSQL and S3 on one machine."""
