# frozen_string_literal: true

require "digest"

module Tiercel
  class Frame
    # The version of an entry as a frame stores it. The version of an Array of records contains the versions of all of
    # them, so it has no maximum length. A frame stores the digest of a long version.
    #
    # @private
    module Version
      # A frame stores the digest of a longer version. The limit is half the maximum size of all parts.
      MAX_BYTES = 32 * 1024
      PREFIX = "sha256:"

      # @param version [#to_s] the version that the caller passed
      # @return [String] the form that a frame stores
      def self.kept(version)
        text = version.to_s
        text.bytesize > MAX_BYTES ? digest(text) : text
      end

      # @param kept [String] the version in a frame
      # @param wanted [String] the version that the caller passed
      # @return [Boolean] whether they are the same version
      def self.same?(kept, wanted)
        kept == wanted || (wanted.to_s.bytesize > MAX_BYTES && kept == kept(wanted))
      end

      # Ruby compares Strings of equal bytes as equal if both are ASCII or have the same encoding.
      def self.digest(text)
        encoding = text.encoding.name unless text.ascii_only?
        "#{PREFIX}#{encoding}:#{Digest::SHA256.hexdigest(text)}"
      end
      private_class_method :digest
    end
  end
end
