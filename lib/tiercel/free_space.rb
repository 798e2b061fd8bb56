# frozen_string_literal: true

module Tiercel
  # The free space of a disk.
  #
  # @private
  module FreeSpace
    # @param path [String] the path of a file, which need not exist
    # @return [Integer, nil] free bytes on the file system of `path`; nil if the system does not report them
    def self.beside(path)
      Extensions.load("segment")
      Segment.free_bytes(::File.dirname(path))
    rescue SystemCallError
      nil
    end
  end
end
