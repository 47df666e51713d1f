"""What leaves as animation: hair motion as rotation tracks that other programs play."""
