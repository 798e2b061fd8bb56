# frozen_string_literal: true

require "tiercel/segment"

# Simulates the machine's memory size.
module MemoryStub
  # Runs the block as on a machine, or in a container, with that much memory.
  def with_memory(bytes)
    limits = Tiercel::Segment::MemoryLimits.singleton_class
    limits.alias_method(:bytes_here, :bytes)
    limits.define_method(:bytes) { bytes }
    yield
  ensure
    limits.remove_method(:bytes)
    limits.alias_method(:bytes, :bytes_here)
    limits.remove_method(:bytes_here)
  end
end
