# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # An object that counts how often it is made bytes of.
        class Specimen
          class << self
            # @return [Integer]
            attr_accessor :dumps
          end

          # @return [String]
          attr_accessor :word

          # @param word [String]
          def initialize(word) = @word = word

          # @private
          def marshal_dump
            Specimen.dumps = Specimen.dumps.to_i + 1
            @word
          end

          # @private
          def marshal_load(word) = @word = word
        end
      end
    end
  end
end
