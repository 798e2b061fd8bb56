# frozen_string_literal: true

require "tiercel/segment"

# Simulates the machine's memory size, and the free space of a directory.
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

  # Runs the block as if the file system of the directory had that many free bytes.
  def with_free(directory, bytes)
    own = Tiercel::Segment.singleton_class
    own.alias_method(:free_bytes_here, :free_bytes)
    own.define_method(:free_bytes) { |path| path == directory ? bytes : free_bytes_here(path) }
    yield
  ensure
    own.remove_method(:free_bytes)
    own.alias_method(:free_bytes, :free_bytes_here)
    own.remove_method(:free_bytes_here)
  end
end
