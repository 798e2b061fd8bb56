# frozen_string_literal: true

require_relative "extensions"

module Tiercel
  # The room that is left on a disk.
  #
  # @private
  module FreeSpace
    # @param path [String] of a file, which need not exist
    # @return [Integer, nil] bytes that are free beside it; nil without the C extension, or if the system does not tell
    def self.beside(path)
      Segment.free_bytes(::File.dirname(path)) if Extensions.load("segment")
    rescue SystemCallError
      nil
    end
  end
end
