J0z&FCj;C CPOhCêKFC
m1CPOhCøÍ,CÛ½B
m1C½šWCÛ½B