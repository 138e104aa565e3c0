// A value that is answered without the id of its node. A sealed value opens beside this id alone, so it stands before the
// value. Takes `placed`, a list of the id and the value. Behind the id and a blank may stand what else the value is bound to.
CASE WHEN placed[1] STARTS WITH <fact._sealed> THEN <fact._sealed> + '@' + placed[0] + placed[1] ELSE placed[1] END
