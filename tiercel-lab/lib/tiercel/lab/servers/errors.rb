# frozen_string_literal: true

require "tiercel/errors"

module Tiercel
  module Lab
    module Servers
      # A server did not start, or did not carry out a command.
      class Error < Tiercel::Error; end

      # The server's program is not installed. The message names the package.
      class NotInstalled < Error; end
    end
  end
end
