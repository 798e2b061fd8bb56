# frozen_string_literal: true

# `tiercel-lab gate` measures one call of a block. Prepare its data outside of it. `expect:` is the expected result, or
# a Proc that checks the result. `setup:` returns an argument for the block. Use `clock: :wall` for code that waits.
require "<%= feature %>"

Tiercel::Lab.benchmark("load the version", expect: ->(found) { !found.nil? }) do
  Gem::Version.new("1.2.3").bump # in place of this, a call of <%= gem_name %>
end
