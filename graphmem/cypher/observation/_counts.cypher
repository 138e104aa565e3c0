// Whether an observation counts as of a time of recording: the number of times at which it stopped or began again to
// count is even; see graphmem.model.membership. Takes its edge `seen` and `known`.
head([turned IN [<observation._turned>] | <observation._even>])
