"""The transactional catalogue: files, records, words and jobs of one account, in one database.

`port` is what the rooms above rely on; `sqlite` is the store that needs no server. A second store implements the
same port and passes the same tests (tests/store).
"""
