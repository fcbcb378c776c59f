module rig/pause

go 1.26.0
