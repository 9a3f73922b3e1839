// health
