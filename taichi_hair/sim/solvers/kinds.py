"""The laws a Crowd can run, as compile-time numbers."""

ARC = 0
ROD = 1
SPRING_BONE = 2
MASS_SPRING = 3

SOLVERS = {"rod": ROD, "arc": ARC, "spring-bone": SPRING_BONE, "mass-spring": MASS_SPRING}

CONTACT_OFF = 0
CONTACT_END = 1  # end points only, as the VRM 1.0 reference algorithm
CONTACT_SEGMENT = 2

CONTACTS = {"off": CONTACT_OFF, "end": CONTACT_END, "segment": CONTACT_SEGMENT}
