"""References: documents, their resources, anchors and dialects."""
