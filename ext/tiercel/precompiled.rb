# frozen_string_literal: true

# The extconf.rb of both extensions requires this file. With TIERCEL_PRECOMPILED=1 it builds a library for other
# machines: for every patch release of this Ruby, with or without a libruby.
if ENV["TIERCEL_PRECOMPILED"]
  $LIBRUBYARG_SHARED = ""
  $DEFLIBPATH = []
end
