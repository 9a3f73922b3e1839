// stories
