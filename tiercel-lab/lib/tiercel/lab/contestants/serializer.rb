# frozen_string_literal: true

require_relative "../contestant"
require_relative "../serialization"

module Tiercel
  module Lab
    module Contestants
      # A serializer alone: `serializer:marshal`.
      class Serializer < Contestant
        def initialize(text:, name: text, **)
          super
          library # so that a wrong name is found while the command line is read
          @name = place if name == text
        end

        def kind = :serializer

        # @return [Serialization::Library]
        def library = Serialization.fetch(place)

        def build(_context) = library.build

        def tear_down(_subject, _names); end

        def stored_bytes(subject, _name, value) = subject.dump(value).bytesize
      end

      register "serializer", Serializer
    end
  end
end
