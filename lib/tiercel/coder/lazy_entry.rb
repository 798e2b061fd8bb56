# frozen_string_literal: true

require "active_support"
require "active_support/cache"

module Tiercel
  class Coder
    # An entry whose value is decoded when it is first asked for.
    #
    # @private
    class LazyEntry < ActiveSupport::Cache::Entry
      # @return [Frame] what it was read from
      attr_reader :frame

      # @param reader [PayloadReader]
      # @param frame [Frame]
      def initialize(reader, frame)
        super(nil, version: frame.parts.version, expires_at: frame.expires_at)
        @reader = reader
        @frame = frame
        @resolved = false
      end

      # @return [Object]
      # @raise [ActiveSupport::Cache::DeserializationError] if it cannot be decoded
      def value
        resolve unless @resolved
        @value
      end

      # Rails asks this before it uses an entry, so an entry whose class is
      # gone says here that it is of no use.
      def mismatched?(version)
        return true if @version && version && !Frame::Version.same?(@version, version)
        value
        false
      rescue ActiveSupport::Cache::DeserializationError
        true
      end

      # @return [void]
      def dup_value!
        resolve unless @resolved
        super
      end

      # @return [ActiveSupport::Cache::Entry]
      def compressed(compress_threshold)
        resolve unless @resolved
        super
      end

      private

      def resolve
        @value = @reader.read(@frame)
        @resolved = true
      rescue MalformedFrame, SerializationError => error
        raise ActiveSupport::Cache::DeserializationError, error.message
      end
    end
  end
end
