# frozen_string_literal: true

# The free space of a disk.
#
# @private
module Tiercel::FreeSpace
  # @param path [String] the path of a file, which need not exist
  # @return [Integer, nil] free bytes on the file system of `path`; nil if the system does not report them
  def self.beside(path)
    Tiercel::Extensions.load("segment")
    Tiercel::Segment.free_bytes(::File.dirname(path))
  rescue SystemCallError
    nil
  end
end
