"""What the file says: avatars read from GLB, glTF and VRM, in NumPy."""
