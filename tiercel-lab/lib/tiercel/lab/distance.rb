# frozen_string_literal: true

module Tiercel
  module Lab
    # How far away an address is, as far as its text says.
    module Distance
      # A socket's path, or a host that is this one, behind whatever scheme and user.
      LOCAL = %r{\A(?:\w+:)?(?:/(?!/)|(?://)?(?:[^@/]*@)?(?:localhost|127(?:\.\d+){3}|\[?::1\]?)(?:[:/,?]|\z))}

      module_function

      # @param place [String] address or URL; "" is a server of the lab's own
      # @return [Symbol] :loopback or :remote
      def medium(place) = place.empty? || place.match?(LOCAL) ? :loopback : :remote
    end
  end
end
