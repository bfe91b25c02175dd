
P
3

service.name	
vectors

host.id
	vectors-1

vectors1	
nothing