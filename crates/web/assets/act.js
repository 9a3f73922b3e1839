// act
