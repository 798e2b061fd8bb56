# frozen_string_literal: true

require "digest"

module Tiercel
  class Frame
    # The version of an entry as a frame keeps it. That of an Array of records
    # is the versions of all of them, and grows beyond any room that a frame
    # has; a long one is kept as a digest.
    #
    # @private
    module Version
      # Longer versions are kept as digests: half of what all parts of a frame may take.
      MAX_BYTES = 32 * 1024
      PREFIX = "sha256:"

      # @param version [#to_s] what the caller names
      # @return [String] what a frame keeps of it
      def self.kept(version)
        text = version.to_s
        text.bytesize > MAX_BYTES ? digest(text) : text
      end

      # @param kept [String] what a frame had
      # @param wanted [String] what the caller names
      # @return [Boolean] whether they are the same version
      def self.same?(kept, wanted)
        kept == wanted || (wanted.to_s.bytesize > MAX_BYTES && kept == kept(wanted))
      end

      # Strings of the same bytes are equal if both are ASCII or of one encoding.
      def self.digest(text)
        encoding = text.encoding.name unless text.ascii_only?
        "#{PREFIX}#{encoding}:#{Digest::SHA256.hexdigest(text)}"
      end
      private_class_method :digest
    end
  end
end
