# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module Compression
      # One library that compresses, as an application would call it.
      class Library
        # @return [String]
        attr_reader :name
        # @return [String, nil] what is required
        attr_reader :feature
        # @return [Array<Integer>] those of the full table; empty if it has none
        attr_reader :levels
        # @return [Integer, nil] the level where none is said
        attr_reader :default

        # @param name [String]
        # @param deflate [Proc] of bytes and level
        # @param inflate [Proc] of bytes
        def initialize(name, deflate:, inflate:, feature: nil, levels: [], default: nil)
          @name = name
          @feature = feature
          @levels = levels
          @default = default
          @deflate = deflate
          @inflate = inflate
        end

        # @param level [Integer, nil]
        # @return [#deflate, #inflate]
        # @raise [UsageError] if the library has no levels
        # @raise [CannotRun] if its gem is missing
        def build(level: nil)
          raise UsageError, "compressor #{name} has no levels" if level && levels.empty?
          load_feature
          Codec.new(@deflate, @inflate, level || default)
        end

        private

        def load_feature
          require feature if feature
        rescue LoadError => e
          raise CannotRun, "gem #{feature} is not in the bundle: add gem #{feature.inspect} to the Gemfile " \
                           "(#{e.message})"
        end

        # What compressors are to Rails' stores and to Tiercel's.
        class Codec
          def initialize(deflate, inflate, level)
            @deflate = deflate
            @inflate = inflate
            @level = level
          end

          # @param bytes [String]
          # @return [String]
          def deflate(bytes) = @deflate.call(bytes, @level)

          # @param bytes [String]
          # @return [String]
          def inflate(bytes) = @inflate.call(bytes)
        end
      end
    end
  end
end
