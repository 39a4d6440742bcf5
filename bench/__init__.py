"""What mcppd costs: `python -m bench` from the checkout, with the development environment. No time is asserted."""
