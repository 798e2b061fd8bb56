# frozen_string_literal: true

require "minitest/mock"
require "tiercel/segment"

# Simulates the machine's memory size, and the free space of a directory.
module MemoryStub
  # Runs the block as on a machine, or in a container, with that much memory.
  def with_memory(bytes, &) = Tiercel::Segment::MemoryLimits.stub(:bytes, bytes, &)

  # Runs the block as if the file system of the directory had that many free bytes.
  def with_free(directory, bytes, &)
    free_bytes = Tiercel::Segment.method(:free_bytes)
    Tiercel::Segment.stub(:free_bytes, ->(path) { path == directory ? bytes : free_bytes.call(path) }, &)
  end
end
