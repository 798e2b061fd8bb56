# frozen_string_literal: true

# `tiercel-lab gate` measures one call of a block. Its data is made outside of it. `expect:` is what a call
# returns, or a Proc that says whether that is right; `setup:` makes what the block is given; `clock: :wall` is for what
# waits.
require "<%= feature %>"

Tiercel::Lab.benchmark("load the version", expect: ->(found) { !found.nil? }) do
  Gem::Version.new("1.2.3").bump # in place of this, a call of <%= gem_name %>
end
