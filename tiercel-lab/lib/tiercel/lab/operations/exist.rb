# frozen_string_literal: true

require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # `exist?` of what is there.
      class Exist < Operation
        called "exist", "an exist? that is true"

        def body = "store.exist?(names[i])"

        def verify(arm)
          arm.each_pair do |name, _value|
            raise Missed, "exist? of a written name is #{arm.store.exist?(name).inspect}" unless arm.store.exist?(name)
          end
          if arm.store.exist?("#{arm.names.first}-absent")
            raise WrongValue, "exist? of a name that nobody wrote is true"
          end
        end
      end
    end
  end
end
