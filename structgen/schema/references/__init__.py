"""References between schemas: documents, resources, anchors, drafts and vocabularies."""
