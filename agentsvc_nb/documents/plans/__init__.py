"""Calculations over tables as plans: data that know no engine, told to people, and written as SQL for one."""
