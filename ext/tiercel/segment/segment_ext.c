/* The whole extension: the core, and its binding to Ruby. */
#include "segment.c"

#include "binding.c"
#include "binding_write.c"
#include "binding_memo.c"
#include "binding_read.c"
#include "binding_near.c"

/* A Tiercel::Segment belongs to one Ractor. Several Ractors share the attachment behind it: see tseg_parallel. */
RUBY_FUNC_EXPORTED void Init_segment_ext(void)
{
#ifdef HAVE_RB_EXT_RACTOR_SAFE
    rb_ext_ractor_safe(true);
#endif
    tiercel_segment_class = rb_define_class_under(rb_define_module("Tiercel"), "Segment", rb_cObject);
    rb_undef_method(rb_singleton_class(tiercel_segment_class), "new");
    rb_define_const(tiercel_segment_class, "PORTABLE", TSEG_IS_PORTABLE ? Qtrue : Qfalse);
    define_segment(tiercel_segment_class);
    segment_init_memo();
    segment_init_read();
    segment_init_write();
    segment_init_near();
}
