"""What tools are made with that is too long for their own module, or shared: requests, mail, pages, copy; stopping."""
