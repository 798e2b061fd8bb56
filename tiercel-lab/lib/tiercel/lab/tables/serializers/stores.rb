# frozen_string_literal: true

require_relative "../../stores"
require_relative "../../serialization"

module Tiercel
  module Lab
    module Contestants
      # A serializer without a store: `serializer:marshal`.
      define "serializer", kind: :serializer, internal?: true do
        def check = library

        def initialize(text:, name: text, **)
          super
          @name = place if name == text
        end

        def library = Serialization.fetch(place)

        # A library may load more when it is built, such as Active Record.
        def load_gems = library.build

        def build(_context) = library.build

        def tear_down(_subject, _names); end

        def stored_bytes(subject, _name, value) = subject.dump(value).bytesize
      end
    end
  end
end
