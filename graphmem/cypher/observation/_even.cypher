// Whether what stopped and began again to count at the times `turned` counts at the time `known`: as many of them up to then
// are stops as are begins. Takes `turned`, null for what always counted, and `known`.
coalesce(size([moment IN turned WHERE moment <= known]), 0) % 2 = 0
