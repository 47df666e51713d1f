# The same jobs as `python dev.py JOB`. What the job's own program should see goes into ARGS: make test ARGS="-k rod"
PYTHON ?= python3

.PHONY: help demo test lint setup clean

help:
	@echo "make demo   see the hair move (ARGS=avatar.vrm for your own)"
	@echo "make test   lint, import layers and all tests (ARGS goes to pytest)"
	@echo "make lint   lint and import layers only"
	@echo "make setup  only make .venv, with everything for development"
	@echo "make clean  remove .venv, caches and built packages"

demo test lint setup:
	@$(PYTHON) dev.py $@ $(ARGS)

clean:
	rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
