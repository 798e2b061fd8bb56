# frozen_string_literal: true

require "tiercel/segment"

# Segments of 2 MB in a folder that is removed after the test.
module SegmentFiles
  def setup
    super
    @path = File.join(dir, "segment")
  end

  def teardown
    @opened&.each(&:close)
    super
  end

  def open(path = @path, **options)
    Tiercel::Segment.open(path, bytes: 2 << 20, **options).tap { |segment| (@opened ||= []) << segment }
  end
end
