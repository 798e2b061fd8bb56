# frozen_string_literal: true

module Tiercel
  module Lab
    # How far away an address is, as far as its text says.
    module Distance
      LOCAL = %r{\A(?:/|unix:|(?:\w+:)?//(?:[^@/]*@)?)?(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|/)}

      module_function

      # @param place [String] address or URL; "" is a server of the lab's own
      # @return [Symbol] :loopback or :remote
      def medium(place) = place.empty? || place.match?(LOCAL) ? :loopback : :remote
    end
  end
end
